"""What ``spark-submit`` runs: orphangc with the session that Spark has made for it."""

from orphangc.app.cli import main

if __name__ == "__main__":
    main()
