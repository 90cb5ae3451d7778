# fish completion for doclock, which itself knows what may come next.

function __doclock_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (timeout 2 doclock __complete $words[2..-1] 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (commandline -ct)
            case ':command *'
                # The command of run, as if it stood alone.
                set -l first (math (string replace ':command ' '' -- $line) + 1)
                complete -C (string join ' ' -- (string escape -- $words[$first..-2]) $words[-1])
            case :command
                complete -C (commandline -ct)
            case '*'
                echo $line
        end
    end
end

complete -c doclock -f -a '(__doclock_complete)'
