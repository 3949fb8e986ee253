// Mocha loads its reporter itself, so this is plain JavaScript: the usual output, and the counts into a file.
import { appendFileSync } from 'node:fs'
import mocha from 'mocha'

export default class CountingReporter extends mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    const file = process.env.FREEHOLD_TEST_COUNTS
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats
      if (file !== undefined) appendFileSync(file, `${JSON.stringify({ passes, failures, pending })}\n`)
    })
  }
}
