"""The sampler of Kuhn poker, which is that of Leduc poker."""

from engine.leduc_poker import sampler

KuhnSampler = sampler.LeducSampler
