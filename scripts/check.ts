import { runChecks } from './test/checks.ts'

/** `npm run check`: what must hold before any test runs. Ends with status 1 where something does not. */
const results = await runChecks(process.argv.includes('--fix'))
const failed = results.filter((result) => !result.passed)
console.log(`${results.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length > 0 ? 1 : 0
