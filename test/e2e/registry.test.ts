import { expect } from 'chai'
import { type RegistryClient, registryClient } from '../make/registryClients.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, uniqueName } from '../worlds/platform.ts'
import { testPlatform } from '../worlds/tenant.ts'

const host = () => testPlatform().registry?.host ?? ''

describe('the registry', () => {
  let crane: RegistryClient
  let boundary: string
  let group: string
  before(async () => {
    crane = await registryClient('crane')
    boundary = (await makeBoundary()).id
    group = (await makeGroup(boundary)).name
  })
  after(() => crane?.close())

  it('takes a token of a person, pushes and pulls', async () => {
    const owner = await makeCaller({ Contributor: `/boundaries/${boundary}` })
    await crane.succeed('auth', 'login', host(), '-u', 'token', '-p', owner.token)
    const name = `${host()}/${boundary}/${group}/containerinstances/${uniqueName('web')}`
    console.log(await crane.succeed('append', '--new_layer', '/etc/hostname', '-t', `${name}:1`).catch(String))
  })
})
