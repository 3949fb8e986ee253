import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { TEST_CONFIG } from '../../../test/config.ts'
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

  it('runs --check in a pod of the facade and prints its output', async () => {
    const { said, failure } = await ask('echo "$@"', { context: 'prod' })
    expect(failure).to.equal(undefined)
    expect(said).to.match(/^--context=prod exec --namespace freehold-system deployment\/freehold-facade .* --check/)
  })

  it('fails if the check of the facade found a fault', async () => {
    const { said, failure } = await ask('echo fault; echo "command terminated with exit code 1" >&2; exit 1')
    expect(said).to.equal('fault\n')
    expect(failure).to.contain('incomplete')
  })

  const MEMCACHE = 'E1125 17:24:13.010504   19590 memcache.go:265] "Unhandled Error" err="connection refused"'
  const cases: [sentence: string, kubectl: string[], told: RegExp][] = [
    [
      'the API server does not answer',
      [MEMCACHE, 'The connection to the server localhost:8080 was refused - did you specify the right host or port?'],
      /reaches no API server.*--kubeconfig/,
    ],
    [
      'no facade runs in the cluster, as with `npm run up`',
      [MEMCACHE, 'Error from server (NotFound): deployments.apps "freehold-facade" not found'],
      /no facade runs.*freehold-system.*npm run up/,
    ],
    [
      'the caller is not an administrator',
      ['Error from server (Forbidden): pods "x" is forbidden: User "ann" cannot create resource'],
      /may not.*--kubeconfig/,
    ],
    [
      'the API server does not know the caller',
      ['error: You must be logged in to the server (Unauthorized)'],
      /does not know.*--kubeconfig/,
    ],
    ['the context does not exist', ['error: context "nope" does not exist'], /kubeconfig or the context/],
    ['kubectl failed for another reason', [MEMCACHE, 'error: something new'], /kubectl exec.*shows why/],
  ]
  for (const [sentence, lines, told] of cases) {
    it(`explains that ${sentence}`, async () => {
      const { said, failure } = await ask(`${lines.map((line) => `echo "${line}" >&2`).join('\n')}\nexit 1`)
      expect(said).to.equal('')
      expect(failure).to.match(told)
      expect(failure).not.to.match(/memcache|Unhandled|Error from server/)
    })
  }

  it('prints the error of the facade without the log of kubectl', async () => {
    const script = `echo "${MEMCACHE}" >&2; echo "issuer must be set." >&2; echo "command terminated with exit code 1" >&2`
    const { said, failure } = await ask(`${script}; exit 1`)
    expect(said).to.equal('issuer must be set.\n')
    expect(failure).to.contain('incomplete')
  })

  it('prints no log of kubectl on success', async () => {
    const { said, failure } = await ask(`echo fine; echo "${MEMCACHE}" >&2`)
    expect([said, failure]).to.deep.equal(['fine\n', undefined])
  })

  it('says that kubectl could not be started', async () => {
    expect((await ask(undefined)).failure).to.contain('kubectl could not be started')
  })
})

describe('freehold check --dev', () => {
  const ask = async (devFile: string) => {
    const said: string[] = []
    const input: Pick<Input, 'text'> = { text: (name) => (name === 'dev' ? devFile : undefined) }
    const terminal = { out: (text: string) => said.push(text), err: (text: string) => said.push(text) }
    const context = { terminal, environment: {}, signal: new AbortController().signal }
    const failure = await check
      .run(input as Input, context as unknown as Context)
      .then(String, (error: Error) => error.message)
    return { failure, said: said.join('') }
  }

  it('checks the settings in the file of the platform', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-check-'))
    const address = 'http://127.0.0.1:1'
    const settings = { ...TEST_CONFIG.compiled, PLATFORM_STALE_READ_SECONDS: 'soon' }
    const dev = { facadeUrl: address, tokenUrl: address, clientId: 'id', clientSecret: 'secret', settings }
    await writeFile(join(folder, 'dev.json'), JSON.stringify(dev))
    expect((await ask(join(folder, 'dev.json'))).said).to.contain('PLATFORM_STALE_READ_SECONDS')
    await rm(folder, { recursive: true, force: true })
  })

  it('names the missing file and `npm run up`', async () => {
    const { failure } = await ask('/nowhere/dev.json')
    expect(failure).to.match(/no \/nowhere\/dev.json: start the platform with `npm run up`/)
  })
})
