// Mocha loads its reporter itself, so this is plain JavaScript: the usual output, and the counts and times into a file.
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import mocha from 'mocha'

export default class CountingReporter extends mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    const file = process.env.FREEHOLD_TEST_COUNTS
    const milliseconds = {}
    const add = ({ file: path, duration }) => {
      if (path === undefined || duration === undefined) return
      const name = relative(process.cwd(), path)
      milliseconds[name] = (milliseconds[name] ?? 0) + duration
    }
    runner.on('test end', add)
    runner.on('hook end', add)
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats
      if (file !== undefined) appendFileSync(file, `${JSON.stringify({ passes, failures, pending, milliseconds })}\n`)
    })
  }
}
