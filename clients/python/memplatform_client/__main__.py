"""`python -m memplatform_client` is the command `memplatform`."""

from memplatform_client.cli.commands import main

if __name__ == "__main__":
    main()
