# Hides copy and move constructors and assignments from Doxygen, unless they are documented: their purpose is obvious,
# and Doxygen would ask for a comment. An empty line replaces each, so that line numbers stay right.
/(operator=)?\((const [A-Za-z_:<>]+ ?& ?[a-z_]*|[A-Za-z_:<>]+ ?&& ?[a-z_]*)\)( noexcept)?( = (default|delete))?;[ \t]*$/ &&
  !/return|\/\/\// {
  name = $0
  sub(/\(.*/, "", name)
  sub(/.*[ \t]/, "", name)
  type = $0
  sub(/^[^(]*\((const )?/, "", type)
  sub(/[ \t&<].*/, "", type)
  if ((name == "operator=" || name == type) && previous !~ /^[ \t]*\/\/\//) {
    print ""
    next
  }
}
{ print; previous = $0 }
