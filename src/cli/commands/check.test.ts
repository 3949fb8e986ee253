import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Context, Input } from '../command.ts'
import { check } from './check.ts'

describe('freehold check', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-check-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const ask = async (script: string | undefined, options: Record<string, string> = {}) => {
    if (script !== undefined) {
      await writeFile(join(folder, 'kubectl'), `#!/bin/sh\n${script}\n`)
      await chmod(join(folder, 'kubectl'), 0o755)
    }
    const said: string[] = []
    const terminal = { out: (text: string) => said.push(text), err: (text: string) => said.push(text) }
    const context = { terminal, environment: { PATH: folder }, signal: new AbortController().signal }
    const input: Pick<Input, 'text'> = { text: (name) => options[name] }
    const failure = await check.run(input as Input, context as unknown as Context).then(
      () => undefined,
      (error: Error) => error.message,
    )
    return { said: said.join(''), failure }
  }

  it('asks a facade in the cluster, and shows what it says', async () => {
    const { said, failure } = await ask('echo "$@"', { context: 'prod' })
    expect(failure).to.equal(undefined)
    expect(said).to.match(/^--context=prod exec --namespace freehold-system deployment\/freehold-facade .* --check/)
  })

  it('fails where the facade found something', async () => {
    const { said, failure } = await ask('echo fault; exit 1')
    expect(said).to.equal('fault\n')
    expect(failure).to.contain('not whole')
  })

  it('says that it needs kubectl', async () => {
    expect((await ask(undefined)).failure).to.contain('kubectl could not be started')
  })
})
