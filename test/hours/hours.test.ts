import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { cachedAt } from '../../scripts/controlplane/cache.ts'
import { readDevFile } from '../../scripts/up/state.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { startFlux } from '../cluster/flux.ts'
import { startOwnControlPlane } from '../cluster/index.ts'
import { ROOT } from '../pages/pages.ts'
import { startGitServer } from './gitServer.ts'

const HOURS = join(ROOT, 'examples/first-hour')

/**
 * Runs the scripts of examples/first-hour. Everything is real except pods, which are simulated as in `npm run up`, and
 * the source controller of Flux, whose part this process plays with a real Git server.
 */
describe('first hour', () => {
  let folder: string
  let own: NodeJS.ProcessEnv

  /** A tree like a fresh clone, with settings of its own: nothing of the user is read or written. */
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-hours-'))
    const names = (await readdir(ROOT)).filter((name) => !['.freehold', '.git'].includes(name))
    await Promise.all(names.map((name) => symlink(join(ROOT, name), join(folder, name))))
    own = {
      ...process.env,
      XDG_CONFIG_HOME: join(folder, '.config'),
      XDG_STATE_HOME: join(folder, '.state'),
      XDG_CACHE_HOME: join(cachedAt('.'), '..'),
      PATH: [join(folder, '.freehold'), process.env.PATH].join(delimiter),
      KUBECONFIG: join(folder, '.freehold/kubeconfig'),
    }
  })
  after(() => rm(folder, { recursive: true, force: true }))

  /** Prints its output only if it fails. */
  const bash = async (words: string[], environment: NodeJS.ProcessEnv = {}, cwd = folder) => {
    const child = spawn('bash', words, { cwd, env: { ...own, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        output += part
      })
    const code = await new Promise((done) => child.on('close', done))
    expect(code, `${words.join(' ')}:\n${output}`).to.equal(0)
    return output
  }

  it('runs curious.sh: the README and the page in a browser', async () => {
    const output = await bash([join(HOURS, 'curious.sh')])
    expect(output).to.match(/OpenAPI 3\.\d\.\d, \d{3} paths/)
    expect(output).to.contain('Stopped the platform')
  })

  describe('with a running platform', () => {
    let admin: KubeClient

    before(async () => {
      await bash(['-c', 'npm run up -- --detach && freehold setup --dev'])
      admin = createKubeClient(loadKubeconfig(own.KUBECONFIG), { fieldManager: 'test', userAgent: 'test' })
    })
    after(async () => {
      await admin?.close()
      await bash(['-c', 'npm run down'])
    })

    it('runs developer.sh: an app, a secret, a database, a rollback and a client program', async () => {
      const output = await bash([join(HOURS, 'developer.sh')])
      for (const line of ['products is Running', 'refused: NOT_FOUND']) expect(output).to.contain(line)
    })

    it('runs gitops.sh: a tree that Flux syncs, changes and prunes', async () => {
      const home = await mkdtemp(join(tmpdir(), 'freehold-git-'))
      const dev = await readDevFile(join(folder, '.freehold'))
      const place = { client: admin, kubeconfig: dev?.kubeconfig ?? '', folder: home }
      const flux = await startFlux({ ...place, namespace: 'default', name: 'tenants' })
      const offer = async () => {
        const { archive, commit } = await git.head()
        await flux.offer(archive, commit)
      }
      const git = await startGitServer(home, () => void offer())
      try {
        await bash([join(HOURS, 'gitops.sh')], { GIT_URL: git.url })
      } finally {
        await git.stop()
        await flux.stop()
        await rm(home, { recursive: true, force: true })
      }
    })
  })

  it('runs engineer.sh: the previous version, the upgrade and the removal', async () => {
    const cluster = await startOwnControlPlane({ durable: true })
    try {
      const PATH = [join(cluster.kubectlPath ?? '', '..'), process.env.PATH].join(delimiter)
      const output = await bash([join(HOURS, 'engineer.sh')], { KUBECONFIG: cluster.kubeconfigPath, PATH }, ROOT)
      expect(output).to.contain('Nothing is left.')
    } finally {
      await cluster.stop()
    }
  })
})
