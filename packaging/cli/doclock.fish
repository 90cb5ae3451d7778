# fish completion for doclock

# The lines that doclock prints for the store of this line, if it answers soon.
function __doclock_ask
    set -l words (commandline -opc)
    set -l store
    for i in (seq 2 (count $words))
        if contains -- $words[$i] --store --store-file
            set store $words[$i] $words[(math $i + 1)]
        end
    end
    timeout 2 doclock $store $argv 2>/dev/null
end

# The command's arguments before the cursor, without options and their values.
function __doclock_arguments
    set -l words (commandline -opc)
    set -l valued --store --store-file --lock-file -c --collection --key --key-type --wait --ttl --where --order-by --after --limit --if-version \
        --editor --owner --group --prefix --sort --interval --by --min-hold --shared --kill-after --fence-env --busy-exit --idle-for
    set -l skip no
    for word in $words[2..-1]
        if test $skip = yes
            set skip no
        else if contains -- $word $valued
            set skip yes
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __doclock_at
    set -l arguments (__doclock_arguments)
    test (count $arguments) -eq $argv[1]; or return 1
    test $argv[1] -eq 0; or contains -- $arguments[1] $argv[2..-1]
end

function __doclock_keys
    set -l arguments (__doclock_arguments)
    __doclock_ask list --keys --limit 1000 -- $arguments[2]
end

function __doclock_uses
    set -l arguments (__doclock_arguments)
    test (count $arguments) -ge 1; and contains -- $arguments[1] $argv
end

complete -c doclock -f
complete -c doclock -n '__doclock_at 0' -a run -d 'Hold a lock while a command runs'
complete -c doclock -n '__doclock_at 0' -a get -d 'Print a document'
complete -c doclock -n '__doclock_at 0' -a put -d 'Create or replace a document'
complete -c doclock -n '__doclock_at 0' -a edit -d 'Lock a document while you edit it'
complete -c doclock -n '__doclock_at 0' -a delete -d 'Lock a document and delete it'
complete -c doclock -n '__doclock_at 0' -a collections -d 'Show the names of the collections'
complete -c doclock -n '__doclock_at 0' -a list -d 'Show the documents of a collection'
complete -c doclock -n '__doclock_at 0' -a export -d 'Write documents as lines of JSON'
complete -c doclock -n '__doclock_at 0' -a import -d 'Read documents from lines of JSON'
complete -c doclock -n '__doclock_at 0' -a outbox -d 'Show, retry or drop messages of an outbox'
complete -c doclock -n '__doclock_at 0' -a work -d 'Show, retry or drop documents of workers'
complete -c doclock -n '__doclock_at 0' -a status -d 'Show the locks and their holders'
complete -c doclock -n '__doclock_at 0' -a events -d 'Print what happens to locks'
complete -c doclock -n '__doclock_at 0' -a top -d 'Show the locks live'
complete -c doclock -n '__doclock_at 0' -a renew -d 'Renew leases of a group, or of one lock'
complete -c doclock -n '__doclock_at 0' -a release -d 'Release locks of a group, or one lock'
complete -c doclock -n '__doclock_at 0' -a purge -d 'Clear what expired locks left'
complete -c doclock -n '__doclock_at 0' -a break -d 'End the lock of another holder'
complete -c doclock -n '__doclock_at 0' -a doctor -d 'Examine the store, and say what to mend'
complete -c doclock -n '__doclock_at 1 get put edit delete list export import outbox work' -a '(__doclock_ask collections)'
complete -c doclock -n '__doclock_at 2 get put edit delete outbox work' -a '(__doclock_keys)'
complete -c doclock -n '__doclock_at 1 run status break' -a '(__doclock_ask list --keys --limit 1000 -- doclock_locks)'
complete -c doclock -n '__doclock_at 3 put; or __doclock_at 2 export import' -F
complete -c doclock -l store -x -d 'URL of the store'
complete -c doclock -l store-file -r -F -d 'File whose first line is the URL'
complete -c doclock -s c -l collection -x -a '(__doclock_ask collections)' -d 'Collection of the locks'
complete -c doclock -l json -d 'Print JSON'
complete -c doclock -l help -d 'Print help'
complete -c doclock -n '__doclock_at 0' -l version -d 'Print the version'
complete -c doclock -n '__doclock_uses get put edit delete list export import outbox work status break renew release' -l key-type -x -a 'string int uuid oid' -d 'Type of the key'
complete -c doclock -n '__doclock_uses run put edit delete export import' -l wait -x -d 'How long to wait for a lock'
complete -c doclock -n '__doclock_uses run put edit delete export import renew' -l ttl -x -d 'Length of the lease'
complete -c doclock -n '__doclock_uses renew release' -l lock-file -r -F -d 'File with the id of one lock'
complete -c doclock -n '__doclock_uses run' -l min-hold -x -d 'Keep others out for so long'
complete -c doclock -n '__doclock_uses run' -l shared -x -d 'Share the lock'
complete -c doclock -n '__doclock_uses run' -l kill-after -x -d 'Time between TERM and KILL'
complete -c doclock -n '__doclock_uses run' -l fence-env -x -d 'Variable for the fence'
complete -c doclock -n '__doclock_uses run' -l busy-exit -x -d 'Exit code if the lock is busy'
complete -c doclock -n '__doclock_uses run status' -l owner -x -d 'Name of the holder'
complete -c doclock -n '__doclock_uses run status' -l group -x -d 'Group'
complete -c doclock -n '__doclock_uses get' -l full -d 'With key, version and lock'
complete -c doclock -n '__doclock_uses put import' -l create -d 'Only create'
complete -c doclock -n '__doclock_uses put delete' -l if-version -x -d 'Only at this version'
complete -c doclock -n '__doclock_uses edit' -l editor -x -a '(__fish_complete_command)' -d 'The editor'
complete -c doclock -n '__doclock_uses list export' -l where -x -d 'Condition'
complete -c doclock -n '__doclock_uses list export' -l order-by -x -d 'Field to order by'
complete -c doclock -n '__doclock_uses list export' -l descending -d 'The highest first'
complete -c doclock -n '__doclock_uses list export' -l after -x -d 'Behind this key'
complete -c doclock -n '__doclock_uses list export' -l limit -x -d 'At most so many'
complete -c doclock -n '__doclock_uses list export' -l free -d 'Only documents that are not locked'
complete -c doclock -n '__doclock_uses list export' -l locked -d 'Only documents that are locked'
complete -c doclock -n '__doclock_uses list' -l keys -d 'Keys alone'
complete -c doclock -n '__doclock_uses export' -l lock -d 'Lock each document while it is read'
complete -c doclock -n '__doclock_uses import' -l key -x -d 'Member that is the key of a plain document'
complete -c doclock -n '__doclock_uses export import' -l resume -d 'Go on after an interruption'
complete -c doclock -n '__doclock_uses status events top' -l prefix -x -d 'Names with this prefix'
complete -c doclock -n '__doclock_uses status events top' -l interval -x -d 'How often'
complete -c doclock -n '__doclock_uses status' -l expired -d 'Only expired locks'
complete -c doclock -n '__doclock_uses status' -l live -d 'Only live locks'
complete -c doclock -n '__doclock_uses status' -l closed -d 'Also what min-hold keeps closed'
complete -c doclock -n '__doclock_uses status' -l watch -d 'Repeat until interrupted'
complete -c doclock -n '__doclock_uses top' -l sort -x -a 'age name holder left rate wait' -d 'Order'
complete -c doclock -n '__doclock_uses events' -l follow -d 'Go on until interrupted'
complete -c doclock -n '__doclock_uses outbox' -l retry -d 'Make parked messages due'
complete -c doclock -n '__doclock_uses outbox' -l drop -d 'Delete a message unsent'
complete -c doclock -n '__doclock_uses work' -l attempts -x -d 'Member with the attempts'
complete -c doclock -n '__doclock_uses work' -l retry -d 'Make parked documents due'
complete -c doclock -n '__doclock_uses work' -l drop -d 'Delete a parked document'
complete -c doclock -n '__doclock_uses purge' -l forget -d 'Also delete names that were not held for long'
complete -c doclock -n '__doclock_uses purge' -l idle-for -x -d 'How long a name must not have been held'
complete -c doclock -n '__doclock_uses break' -l by -x -d 'Who breaks the lock'
