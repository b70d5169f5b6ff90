"""What every package uses: names, records, seeds, texts."""
