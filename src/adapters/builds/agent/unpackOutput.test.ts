import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { unpackOutput } from './unpackOutput.ts'

describe('an archive that a program writes', () => {
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

  it('is unpacked', async () => {
    await unpacked('cat all.tgz')
    expect(await readFile(join(folder, 'out/index.js'), 'utf8')).to.equal('hello')
  })

  for (const [title, script, failure] of [
    ['is not refused, but missing, if the program fails before its end', 'head -c 40 all.tgz; exit 1', 'BuilderFailed'],
    ['is missing if the program fails before its beginning', 'exit 1', 'BuilderFailed'],
    ['is missing if the program fails after it', 'cat all.tgz; exit 1', 'BuilderFailed'],
    ['is refused if that is all', 'head -c 40 all.tgz', 'SourceRefused'],
    ['is refused while it is written if it is none', 'yes', 'SourceRefused'],
  ] as const)
    it(title, async () => {
      const error = await unpacked(script).catch((thrown: unknown) => thrown)
      expect(error).to.include({ failure })
    })
})
