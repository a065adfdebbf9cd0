"""The sampler of Kuhn poker, which is that of Leduc poker."""

from games.leduc_poker.play import sampler

KuhnSampler = sampler.LeducSampler
