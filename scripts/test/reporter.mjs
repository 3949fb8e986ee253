// Mocha loads its reporter itself, so this is plain JavaScript: the usual output, and into a file the counts, the times
// and what failed.
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import mocha from 'mocha'

export default class CountingReporter extends mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    const file = process.env.FREEHOLD_TEST_COUNTS
    const milliseconds = {}
    const failed = []
    const nameOf = (path) => (path === undefined ? 'no file' : relative(process.cwd(), path))
    const add = ({ file: path, duration }) => {
      if (path === undefined || duration === undefined) return
      milliseconds[nameOf(path)] = (milliseconds[nameOf(path)] ?? 0) + duration
    }
    runner.on('test end', add)
    runner.on('hook end', add)
    runner.on('fail', (test, error) => {
      const [reason] = String(error?.message ?? error).split('\n')
      failed.push({ file: nameOf(test.file), title: test.fullTitle(), reason })
    })
    runner.once('end', () => {
      const { passes, pending } = this.stats
      const result = { passes, pending, milliseconds, failed }
      if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`)
    })
  }
}
