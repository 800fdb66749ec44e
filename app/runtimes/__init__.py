"""Detection of the commands that install and serve the site of a repository."""
