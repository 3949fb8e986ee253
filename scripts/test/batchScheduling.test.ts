import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'

describe('scheduling of a run', () => {
  it('is inherited by what the run starts', function () {
    const program = `
      import { spawnSync } from 'node:child_process'
      import { useBatchScheduling } from '${join(import.meta.dirname, 'batchScheduling.ts')}'
      useBatchScheduling()
      process.stdout.write(spawnSync('chrt', ['--pid', '0'], { encoding: 'utf8' }).stdout)`
    if (spawnSync('chrt', ['--version']).status !== 0) this.skip()
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    expect(run.stdout, run.stderr).to.contain('SCHED_BATCH')
  })
})
