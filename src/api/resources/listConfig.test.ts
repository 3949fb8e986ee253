import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { ComputePlan } from '../../crds/plans.ts'

describe('the plans of a config route', () => {
  it('have the order of the list of plans, without regard to case', async () => {
    const server = await startShop()
    try {
      const sizes = { cpuRequest: '1', cpuLimit: '1', memoryRequest: '2Gi', memoryLimit: '2Gi' }
      for (const displayName of ['beta', 'Gamma', 'alpha', 'Alpha'])
        server.put(ComputePlan, `plan-${displayName.charCodeAt(0)}`, { family: 'App', displayName, ...sizes })
      const listed = await server.ask('get', `/boundaries/${BOUNDARY}/resources/appcomputeplans`)
      const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/apps/config`
      const { body: config } = await server.ask('get', path)
      const idsOf = (plans: { id: string }[]) => plans.map(({ id }) => id)
      expect(idsOf(config.plans)).to.have.length.above(3)
      expect(idsOf(config.plans)).to.deep.equal(idsOf(listed.body.items))
    } finally {
      await server.stop()
    }
  })

  it('mark as default the plan that a resource without a plan gets', async () => {
    const server = await startShop()
    try {
      const sizes = { cpuRequest: '1', cpuLimit: '1', memoryRequest: '2Gi', memoryLimit: '2Gi' }
      const plan = (name: string, isDefault: boolean) =>
        server.put(ComputePlan, name, { family: 'ContainerInstance', displayName: name, isDefault, ...sizes })
      plan('container-nano', false)
      plan('container-small', true)
      const resources = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources`
      const made: readonly [string, object, string][] = [
        ['staticwebapps', { image: 'nginx:1' }, 'resourcePlanId'],
        ['containerinstances', { components: [{ name: 'web', image: 'nginx:1' }] }, 'computePlan'],
      ]
      for (const [segment, body, field] of made) {
        const { body: config } = await server.ask('get', `${resources}/${segment}/config`)
        const { body: record } = await server.ask('post', `${resources}/${segment}/web`).send(body)
        const defaults = config.plans.filter(({ isDefault }: { isDefault: boolean }) => isDefault)
        expect(defaults.map(({ id }: { id: string }) => id)).to.deep.equal([record[field]], segment)
      }
    } finally {
      await server.stop()
    }
  })
})
