# Hides copy and move constructors and assignments from Doxygen, unless somebody has documented them: what they do
# goes without saying, and Doxygen would have it said. An empty line stands in, so that line numbers stay right.
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
