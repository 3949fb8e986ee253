import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RegistryClient, registryClient } from '../make/registryClients.ts'
import { call, makeBoundary, makeCaller, makeGroup, type TestCaller, uniqueName, until } from '../worlds/platform.ts'
import { testPlatform } from '../worlds/tenant.ts'

/** Clients' messages for a 503. The number alone may be part of a digest, which they also print. */
const HELD_BACK = /\b503 Service Unavailable\b|\bstatus code 503\b/i

/**
 * A boundary with a group, an account that may push there, and ordinary clients, on the registry of the shared
 * platform.
 */
export function registrySuite() {
  const world = {} as { boundary: string; group: string; owner: TestCaller; folder: string; host: string }
  const clients: RegistryClient[] = []

  before(async function () {
    const { registry } = testPlatform()
    if (registry === undefined) {
      console.log('    skipped: no registry runs here, because no Go was found that builds it')
      this.skip()
    }
    world.host = registry.host
    world.folder = mkdtempSync(join(tmpdir(), 'freehold-layers-'))
    world.boundary = (await makeBoundary()).id
    world.group = (await makeGroup(world.boundary)).name
    world.owner = await makeCaller({ Contributor: `/boundaries/${world.boundary}` })
  })
  after(async () => {
    for (const client of clients) await client.close()
    if (world.folder !== undefined) rmSync(world.folder, { recursive: true, force: true })
  })

  /** The file of a layer that no other image has. */
  const layer = () => {
    const name = uniqueName('layer')
    writeFileSync(join(world.folder, name), randomBytes(1024))
    execFileSync('tar', ['-cf', join(world.folder, `${name}.tar`), '-C', world.folder, name])
    return join(world.folder, `${name}.tar`)
  }
  /** A client that is signed in, unless it has no credentials. */
  const client = async (user?: string, password = '', name: 'crane' | 'regctl' = 'crane') => {
    const made = await registryClient(name)
    clients.push(made)
    if (name === 'regctl') await made.succeed('registry', 'set', world.host, '--tls', 'disabled', '--skip-check')
    if (user === undefined) return made
    const login = name === 'crane' ? ['auth', 'login'] : ['registry', 'login']
    await made.succeed(...login, world.host, '-u', user, '-p', password)
    return made
  }
  const repository = (name = uniqueName('web'), { boundary, group } = world) => `${boundary}/${group}/jobs/${name}`
  const image = (path: string, tag = 'v1') => `${world.host}/${path}:${tag}`
  /** Pushing waits while a run removes images, which other tests may start. */
  const push = async (by: RegistryClient, target: string, file = layer()) => {
    const ran = await until(`${target} is pushed or refused`, async () => {
      const tried = await by.run('append', '-f', file, '-t', target)
      return tried.code !== 0 && HELD_BACK.test(tried.error) ? false : tried
    })
    if (ran.code !== 0) throw new Error(`The push to ${target} failed: ${ran.error.slice(-600)}`)
  }
  const digest = (by: RegistryClient, target: string) => by.succeed('digest', target)
  const makeJob = async (name: string, body: object = { image: 'docker.io/library/busybox' }) => {
    const path = `/boundaries/${world.boundary}/resourcegroups/${world.group}/resources/jobs/${name}`
    const made = await call('POST', path, body)
    if (made.status !== 201) throw new Error(made.text)
  }
  const asOwner = () => ({ token: world.owner.token })
  return { world, layer, client, repository, image, push, digest, makeJob, asOwner }
}
