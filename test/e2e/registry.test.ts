import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type RegistryClient, registryClient } from '../make/registryClients.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, type TestCaller, uniqueName } from '../worlds/platform.ts'
import { testPlatform } from '../worlds/tenant.ts'

const host = () => testPlatform().registry?.host ?? ''

describe('the registry', () => {
  let crane: RegistryClient
  let boundary: string
  let group: string
  let owner: TestCaller
  let folder: string
  before(async () => {
    crane = await registryClient('crane')
    folder = mkdtempSync(join(tmpdir(), 'freehold-layers-'))
    boundary = (await makeBoundary()).id
    group = (await makeGroup(boundary)).name
    owner = await makeCaller({ Contributor: `/boundaries/${boundary}` })
  })
  after(async () => {
    await crane?.close()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  /** A layer that no other image has. */
  const layer = () => {
    const name = uniqueName('layer')
    writeFileSync(join(folder, name), randomBytes(1024))
    execFileSync('tar', ['-cf', join(folder, `${name}.tar`), '-C', folder, name])
    return join(folder, `${name}.tar`)
  }
  const signIn = (client: RegistryClient, user: string, password: string) =>
    client.succeed('auth', 'login', host(), '-u', user, '-p', password)
  const repository = (name = uniqueName('web')) => `${host()}/${boundary}/${group}/containerinstances/${name}`

  it('takes a token of a person, pushes and pulls', async () => {
    await signIn(crane, 'token', owner.token)
    const name = repository()
    await crane.succeed('append', '-f', layer(), '-t', `${name}:1`)
    expect(await crane.succeed('ls', name)).to.equal('1')
    const digest = await crane.succeed('digest', `${name}:1`)
    expect(digest).to.match(/^sha256:/)
    const query = `repository=${name.slice(host().length + 1)}&tag=1`
    const { body } = await expectCall<{ digest: string }>(
      200,
      'GET',
      `/v1/internal/registries/manifests?${query}`,
      undefined,
      { token: owner.token },
    )
    expect(body.digest).to.equal(digest)
    const audit = await call<{ items: object[] }>('GET', `/resources/registries/audit?boundary=${boundary}`)
    expect(audit.body.items.length).to.be.greaterThan(0)
  })
})
