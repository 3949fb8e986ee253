import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'

const RESOURCES = `/boundaries/${BOUNDARY}/resources`
const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`

describe('the URL preview', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    shop = await startShop()
    const namespace = groupNamespace(BOUNDARY, 'shop')
    shop.put(ContainerInstance, 'taken', { components: [{ name: 'web', image: 'site:1' }] }, namespace)
    shop.put(StaticWebApp, 'taken', { image: 'site:1' }, namespace)
  })
  after(() => shop.stop())

  const ask = async (caller: string, path: string, name: string, resourceGroup = 'shop') => {
    const { status, body } = await shop.ask('post', `${RESOURCES}/${path}/url`, caller).send({ name, resourceGroup })
    return { status, isAvailable: body.isAvailable }
  }

  function person(scope?: string): string {
    const principalId = randomUUID()
    shop.grant(principalId, 'Contributor', `/boundaries/${BOUNDARY}`)
    const spec = { principalId, principalType: 'User', actions: ['*'], scope, scopeIncarnation: 'life' }
    if (scope !== undefined) shop.put(DenyAssignment, randomUUID(), spec, boundaryNamespace(BOUNDARY))
    return principalId
  }

  for (const path of ['containerinstances', 'staticwebapps']) {
    it(`returns 403 for a group or name that is denied to the caller: ${path}`, async () => {
      const everywhere = person()
      expect(await ask(everywhere, path, 'free')).to.deep.equal({ status: 200, isAvailable: true })
      const [atGroup, atName] = [person(GROUP), person(`${GROUP}/resources/${path}/taken`)]
      for (const name of ['taken', 'free']) expect((await ask(atGroup, path, name)).status).to.equal(403)
      expect((await ask(atName, path, 'taken')).status).to.equal(403)
      expect((await ask(atName, path, 'free')).status).to.equal(200)
    })
  }

  it('returns 404 for a missing group', async () => {
    for (const group of ['other', 'No Group'])
      expect((await ask(person(), 'containerinstances', 'free', group)).status).to.equal(404)
  })
})
