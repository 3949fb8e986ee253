// Loaded by each process of Mocha. In CI, the message is all that is known of a failure, so none is truncated.
import { config } from 'chai'

config.truncateThreshold = 0
