import { ownWords } from './commandLine.ts'
import { runChecks } from './test/checks.ts'

const USAGE = `Usage: npm run check -- [options]
Checks what must hold before any test runs. Ends with status 1 where something does not.
  --fix  write what can be written`

const { values } = ownWords(USAGE, { fix: { type: 'boolean', default: false } })
const results = await runChecks(values.fix)
const failed = results.filter((result) => !result.passed)
console.log(`${results.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length > 0 ? 1 : 0
