"""`python -m toolgate_langchain`, the same as `toolgate`."""

from toolgate_langchain.cli import main

if __name__ == "__main__":
    main()
