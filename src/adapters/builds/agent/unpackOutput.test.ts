import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { unpackOutput } from './unpackOutput.ts'

describe('unpackOutput', () => {
  let folder: string
  const unpacked = (script: string) =>
    unpackOutput(spawn('sh', ['-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] }), join(folder, 'out'))
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'output-'))
    await writeFile(join(folder, 'index.js'), 'hello')
    execFileSync('tar', ['-czf', 'all.tgz', 'index.js'], { cwd: folder })
    execFileSync('mkdir', ['out'], { cwd: folder })
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('unpacks the archive that a program writes', async () => {
    await unpacked('cat all.tgz')
    expect(await readFile(join(folder, 'out/index.js'), 'utf8')).to.equal('hello')
  })

  for (const [title, script, failure] of [
    [
      'reports BuilderFailed if the program fails in the middle of the archive',
      'head -c 40 all.tgz; exit 1',
      'BuilderFailed',
    ],
    ['reports BuilderFailed if the program fails before it writes', 'exit 1', 'BuilderFailed'],
    ['reports BuilderFailed if the program fails after a complete archive', 'cat all.tgz; exit 1', 'BuilderFailed'],
    ['reports SourceRefused if the archive is cut off and the program succeeds', 'head -c 40 all.tgz', 'SourceRefused'],
    ['reports SourceRefused while the program still writes, if its output is no archive', 'yes', 'SourceRefused'],
  ] as const)
    it(title, async () => {
      const error = await unpacked(script).catch((thrown: unknown) => thrown)
      expect(error).to.include({ failure })
    })
})
