"""The strengths of the bots, as the schema numbers them."""

from ai.strengths import STRENGTHS, Strength
from croupier.v1.match_pb2 import BotStrength

BOT_STRENGTHS: dict[int, Strength] = {
    BotStrength.BOT_STRENGTH_RANDOM: STRENGTHS["random"],
    BotStrength.BOT_STRENGTH_BEGINNER: STRENGTHS["beginner"],
    BotStrength.BOT_STRENGTH_CASUAL: STRENGTHS["casual"],
    BotStrength.BOT_STRENGTH_SKILLED: STRENGTHS["skilled"],
    BotStrength.BOT_STRENGTH_EXPERT: STRENGTHS["expert"],
}
