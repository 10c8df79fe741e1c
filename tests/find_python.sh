# Sourced by scripts that need another version of Python.

find_python() { # usage: find_python VERSION; prints the interpreter found on the PATH or in pyenv
  local candidate
  for candidate in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    # pyenv's shims are on the PATH even for versions that are not active.
    if "$candidate" -c "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (${1/./, }))" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}
