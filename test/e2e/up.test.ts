// @alone: runs `npm run up` and `npm run down` as a user does.

import { type ChildProcess, execFile, type PromiseWithChild, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { dump, load } from 'js-yaml'
import type { DevFile } from '../../scripts/up/state.ts'
import { WITHIN } from '../make/ownProcess.ts'
import { promised, until } from '../make/until.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const bootstrap = join(root, 'scripts/bootstrap.mjs')
const BOUNDARY = '11111111-2222-4333-8444-555555555555'

/** Milliseconds: the first start builds its programs. */
const UP_WITHIN = 900_000

/** Part of the answer of `/version`. */
type Version = { kubernetesVersion: string; simulated: string[] }

describe('npm run up', () => {
  let folder: string
  /** The output of the first start. */
  let started: string
  /** The second start. */
  let foreground: ChildProcess
  const npmRun = (script: string, ...args: string[]) =>
    run(process.execPath, [bootstrap, script, ...args, '--data', folder], { ...WITHIN, cwd: root, timeout: UP_WITHIN })
  const dev = async () => JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevFile

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-up-'))
  })
  after(async () => {
    await npmRun('down').catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })

  async function token({ tokenUrl, clientId, clientSecret }: DevFile): Promise<string> {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    return ((await (await fetch(tokenUrl, { method: 'POST', body })).json()) as { access_token: string }).access_token
  }

  async function rest<T>(method: string, path: string, body?: object): Promise<{ status: number; body: T }> {
    const file = await dev()
    const headers = { authorization: `Bearer ${await token(file)}`, 'content-type': 'application/json' }
    const answer = await fetch(file.facadeUrl + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as T }
  }

  /** kubectl with nothing but a token of the first Owner. */
  async function asTenant(file: DevFile, ...args: string[]): Promise<string> {
    const own = load(await readFile(file.kubeconfig, 'utf8')) as { users: { user: object }[] }
    const user = { token: await token(file) }
    const path = join(folder, 'tenant.kubeconfig')
    await writeFile(path, dump({ ...own, users: own.users.map((each) => ({ ...each, user })) }), { mode: 0o600 })
    return (await kubectlOf(path)(...args)).stdout
  }

  it('--detach starts a platform and writes dev.json', async () => {
    started = (await npmRun('up', '--detach')).stdout
    expect(started).to.match(/Ready, running in the background/)
    const file = await dev()
    expect(file).to.have.all.keys(
      'facadeUrl',
      'tokenUrl',
      'realm',
      'clientId',
      'clientSecret',
      'person',
      'kubeconfig',
      'kubernetes',
      'registry',
      'registryAddress',
      'certificateAuthority',
      'settings',
    )
    expect(file.kubernetes).to.have.all.keys('source', 'version', 'simulated')
    expect((await stat(join(folder, 'dev.json'))).mode & 0o077, 'it holds a secret').to.equal(0)
  })

  it('lists simulated parts in dev.json and in its output, like /version', async () => {
    const { facadeUrl, kubernetes } = await dev()
    const version = (await (await fetch(`${facadeUrl}/version`)).json()) as Version
    expect(kubernetes).to.include({ version: version.kubernetesVersion })
    expect(kubernetes.simulated).to.deep.equal(version.simulated).and.to.include.members(['pods', 'object-store'])
    expect(started).to.include(`played: ${version.simulated.join(', ')}`)
  })

  it('lets REST create a database, which is Running within five seconds of its pods', async () => {
    const boundary = await rest<{ id: string }>('POST', '/boundaries', { displayName: 'Acme' })
    expect(boundary.status).to.equal(201)
    const group = `/boundaries/${boundary.body.id}/resourcegroups/search`
    expect((await rest('POST', group)).status).to.equal(201)
    const database = `${group}/resources/vectorclusters/products`
    expect((await rest('POST', database, { computePlan: 'vector-medium' })).status).to.equal(201)
    const { kubeconfig } = await dev()
    const namespace = (await rest<{ namespace: string }>('GET', group)).body.namespace
    const kubectl = kubectlOf(kubeconfig)
    await kubectl('wait', '--for=condition=Ready', 'pod', '--all', '-n', namespace, '--timeout=180s').catch(
      () => undefined,
    )
    await until('three pods are ready', async () => {
      const { stdout } = await kubectl(
        'get',
        'pods',
        '-n',
        namespace,
        '-o',
        'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}',
      )
      return stdout.trim() === 'True True True'
    })
    await until(
      'the database runs',
      async () => (await rest<{ status: string }>('GET', database)).body.status === 'Running',
      promised(5_000),
    )
    await kubectl('wait', '--for=condition=Ready', 'vectorcluster/products', '-n', namespace, '--timeout=2m')
  })

  it('lets kubectl apply the examples, which REST shows with the same ids', async () => {
    const { kubeconfig } = await dev()
    const kubectl = kubectlOf(kubeconfig)
    for (const [step, kind] of [
      ['10-boundary', 'boundary'],
      ['20-group', 'resourcegroup'],
      ['30-vector', 'vectorcluster'],
    ]) {
      await kubectl('apply', '-f', join(root, 'examples', step ?? ''))
      await kubectl('wait', '--for=condition=Ready', kind ?? '', '--all', '-A', '--timeout=180s')
    }
    const { stdout } = await kubectl('get', 'vectorclusters', '-A', '-o', 'json')
    expect((JSON.parse(stdout) as { items: unknown[] }).items).to.have.length(2)
    type Boundaries = { items: { id: string; displayName: string }[] }
    const boundaries = await until('REST shows both', async () => {
      const { items } = (await rest<Boundaries>('GET', '/boundaries')).body
      return expect(items).to.have.length(2) && items
    })
    const { stdout: names } = await kubectl('get', 'boundaries', '-o', 'jsonpath={.items[*].metadata.name}')
    expect(boundaries.map(({ id }) => id).sort()).to.deep.equal(names.split(' ').sort())
  })

  it('shows within a second by REST what kubectl creates', async () => {
    const { kubeconfig } = await dev()
    const kubectl = kubectlOf(kubeconfig)
    const manifest = `apiVersion: freehold.dev/v1alpha1\nkind: Boundary\nmetadata: {name: ${BOUNDARY}}\nspec: {displayName: By kubectl}\n`
    const child = kubectl('apply', '-f', '-')
    child.child.stdin?.end(manifest)
    await child
    await until(
      'REST shows it',
      async () => (await rest('GET', `/boundaries/${BOUNDARY}`)).status === 200,
      promised(1_000),
    )
  })

  it('keeps everything over npm run down, which leaves no process', async () => {
    const before = await dev()
    await npmRun('down')
    expect(await processesOf(folder)).to.deep.equal([])
    foreground = spawn(process.execPath, [bootstrap, 'up', '--data', folder], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [foreground.stdout, foreground.stderr])
      stream?.on('data', (chunk) => (output += String(chunk)))
    await until('it is ready', () => output.includes('Ready. Ctrl-C stops everything.'))
    const after = await dev()
    // The API server fetches the issuer's keys at its own pace, and gives up on an authorizer that is still starting.
    const seen = await until('kubectl is let in', () =>
      asTenant(after, 'get', 'roleassignments', '-n', 'freehold-system', '-o', 'name'),
    )
    expect(seen).to.match(/owner-/)
    expect([after.clientId, after.clientSecret]).to.deep.equal([before.clientId, before.clientSecret])
    const shown = await rest<{ items: { id: string }[] }>('GET', '/boundaries')
    expect(shown.body.items.map(({ id }) => id)).to.include(BOUNDARY)
    expect(shown.body.items).to.have.length(3)
  })

  it('ends with SIGINT in the foreground, and leaves no process', async () => {
    const ended = new Promise<number | null>((done) => foreground.once('exit', done))
    foreground.kill('SIGINT')
    expect(await ended).to.equal(0)
    expect(await processesOf(folder)).to.deep.equal([])
  })
})

type Kubectl = (...args: string[]) => PromiseWithChild<{ stdout: string; stderr: string }>

/** The kubectl that `up` puts beside its kubeconfig. */
function kubectlOf(kubeconfig: string): Kubectl {
  return (...args) => run(join(dirname(kubeconfig), 'kubectl'), ['--kubeconfig', kubeconfig, ...args])
}

/** Command lines of living processes that name the data folder, except ours. */
async function processesOf(folder: string): Promise<string[]> {
  const { stdout } = await run('ps', ['-eo', 'pid,args', '-ww'])
  return stdout
    .split('\n')
    .filter((line) => line.includes(folder) && !line.includes('mocha') && !line.includes('ps -eo'))
}
