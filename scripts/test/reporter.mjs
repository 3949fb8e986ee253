// Mocha loads its reporter itself, so this is plain JavaScript: the usual output, and messages to the parent process
// with counts, times and failures, after each file and at the end.
import { relative } from 'node:path'
import mocha from 'mocha'

export default class TellingReporter extends mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options)
    const milliseconds = {}
    const failed = []
    let file
    const nameOf = (path) => (path === undefined ? 'no file' : relative(process.cwd(), path))
    const tell = (isOver) => {
      const { passes, pending } = this.stats
      process.send?.({ passes, pending, milliseconds, failed, isOver })
    }
    const add = ({ file: path, duration }) => {
      if (path === undefined || duration === undefined) return
      if (file !== undefined && file !== path) tell(false)
      file = path
      milliseconds[nameOf(path)] = (milliseconds[nameOf(path)] ?? 0) + duration
    }
    runner.on('test end', add)
    runner.on('hook end', add)
    runner.on('fail', (test, error) => {
      const [reason] = String(error?.message ?? error).split('\n')
      failed.push({ file: nameOf(test.file), title: test.fullTitle(), reason })
    })
    runner.once('end', () => tell(true))
  }
}
