"""Papers, computed again.

Every figure and claim of the papers that psmr is built on, with a verdict that is computed.
"""

# %% psmr.papers.catalogue.reproduce
# %% psmr.papers.catalogue.Reproduction
# %% psmr.papers.catalogue.parts
# %% psmr.papers.catalogue.Paper
# %% psmr.papers.finding.ClaimResult
# %% psmr.papers.finding.Check
# %% psmr.papers.finding.Claim
# %% psmr.papers.finding.rises
# %% psmr.papers.finding.tends
# %% psmr.papers.finding.endless
