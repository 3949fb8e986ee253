// Loaded by each process of Mocha. What failed in CI is known by its message alone, so none is cut.
import { config } from 'chai'

config.truncateThreshold = 0
