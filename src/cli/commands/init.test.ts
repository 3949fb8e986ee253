import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Context, parseCommandLine } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { init } from './init.ts'

describe('freehold init', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-init-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  async function ran(...words: readonly string[]): Promise<{ out: string; err: string }> {
    const said = { out: '', err: '' }
    const terminal = {
      out: (text: string) => {
        said.out += text
      },
      err: (text: string) => {
        said.err += text
      },
    }
    await init.run(parseCommandLine(init, [folder, ...words]), { terminal } as unknown as Context)
    return said
  }
  const refusalOf = (...words: readonly string[]) =>
    ran(...words).then(
      () => 'nothing',
      (error: unknown) => (error instanceof CommandFailure ? `${error.exitCode} ${error.message}` : String(error)),
    )

  it('prints a Dockerfile and the detected runtime with its version', async () => {
    await write('package.json', '{"scripts":{"start":"node server.js"}}')
    await write('.nvmrc', '22')
    const { out, err } = await ran()
    expect(err).to.equal('Built with nodejs 22\n')
    expect(out).to.include('FROM docker.io/library/node:22-slim AS build').and.include('CMD ["node","server.js"]')
  })

  it('writes a Dockerfile with --write and never overwrites one', async () => {
    await write('go.mod', 'module shop')
    await ran('--write', '--port', '9000')
    expect(await readFile(join(folder, 'Dockerfile'), 'utf8')).to.include('EXPOSE 9000')
    expect((await ran()).err).to.include('has a Dockerfile')
    expect(await refusalOf('--write', '--runtime', 'go')).to.match(/^5 .*Dockerfile was not written/)
  })

  it('names missing and invalid settings', async () => {
    expect(await refusalOf()).to.match(/^2 The runtime cannot be detected/)
    await write('package.json', '{}')
    expect(await refusalOf()).to.include('set startCommand')
    expect(await refusalOf('--port', 'x')).to.match(/^2 --port/)
  })

  it('refuses to write the Dockerfile of a static site', async () => {
    await write('index.html', '')
    expect((await ran('--site')).out).to.include('/etc/nginx/site.sh')
    expect(await refusalOf('--site', '--write')).to.match(/^2 The Dockerfile of a site/)
  })
})
