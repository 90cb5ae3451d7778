#pragma once

/// From now on `doclock::OpenStore("dir:PATH")` opens the folder PATH as a DirStore. To be called
/// once.
void RegisterDirScheme();
