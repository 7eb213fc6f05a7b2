"""Sources: files and archives of others, read into the nouns of Rapport."""
