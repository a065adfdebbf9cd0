"""How balanced a game is: figures of many matches, two rulesets compared, and what to change."""
