"""The floor: actions drawn evenly."""
