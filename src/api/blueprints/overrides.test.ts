import { expect } from 'chai'
import { startBlueprintShop, searchTemplate as template } from '../../../test/worlds/blueprintShop.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { componentBodySchema, planFieldOf } from './bodies.ts'

const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi' }

describe('computePlan of a component', () => {
  const sized = [...BLUEPRINT_COLLECTIONS.values()].filter(({ kind }) => kind.sized !== undefined)
  for (const entry of sized)
    it(`is a field of the record of ${entry.collection}, under its own name`, () =>
      expect(componentBodySchema(entry).shape).to.have.property(planFieldOf(entry.collection, {})))

  it('overrides resourcePlanId of static web apps too', async () => {
    const world = await startBlueprintShop()
    const plan = { family: 'ContainerInstance', displayName: 'Plan', ...SIZES }
    for (const name of ['container-nano', 'container-small']) world.put(ComputePlan, name, plan)
    const site = `  - name: site
    collection: staticwebapps
    resourceName: docs
    spec: { image: docker.io/library/nginx:1.29, resourcePlanId: container-nano }
`
    const missing = await world.post(template('1.0.0', site.replace('nano', 'none')), 'templates/validate')
    expect(missing.body.problems.map(({ path }: { path: string }) => path)).to.include(
      '/components/3/spec/resourcePlanId',
    )
    const { body: shown } = await world.post(template('1.0.0', site))
    expect(shown.components.at(-1)).to.include({ name: 'site', computePlan: 'container-nano' })
    const overrides = { componentOverrides: [{ name: 'site', computePlan: 'container-small' }] }
    const { body } = await world.deploy(overrides, '?dryRun=true')
    const step = body.steps.find(({ component }: { component: string }) => component === 'site')
    expect(step.problems).to.deep.equal([])
    const { body: execution } = await world.deploy(overrides)
    expect(execution.status, JSON.stringify(execution)).to.equal('Queued')
    const [stored] = (await world.client.list(BlueprintExecution.resource)).items as unknown as BlueprintExecution[]
    const made = stored?.spec.steps.find(({ component }) => component === 'site')
    expect(JSON.parse(made?.manifest ?? '{}')).to.include({ computePlan: 'container-small' })
    await world.stop()
  })
})
