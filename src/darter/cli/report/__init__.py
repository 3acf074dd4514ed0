"""What ``darter bench report`` draws: charts of result files, as SVG in one HTML page and as PNGs."""
