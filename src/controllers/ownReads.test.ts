import { expect } from 'chai'
import { Engines } from '../../test/crashes/engines.ts'
import { Life } from '../../test/crashes/life.ts'
import { portsOf } from '../../test/crashes/ports.ts'
import { CountedReads } from '../../test/worlds/countedReads.ts'
import { controllers } from './index.ts'

const [FEW, MANY] = [4, 16]

const ALL = controllers({ ...portsOf(new Engines(), new Life(undefined, () => 0), new Engines()), projectRbac: false })

/** Lists of these may be read whole, because there are never many. */
const FEW_BY_NATURE: Readonly<Record<string, readonly string[]>> = {
  'an administrator creates each': [
    ...['platformclusters', 'computeplans', 'ssoconnections', 'idpbindings', 'platformbackupsettings'],
    ...['platformcomponents', 'componentreleases', 'componentinstalls', 'rolloutplans', 'rolloutexecutions'],
  ],
  'all but the newest are deleted': ['platformdriftscans', 'retentionruns', 'blueprintexecutions'],
  'a boundary has a limit of them': ['blueprintsources', 'blueprinttemplates'],
  'a boundary has one of them': ['boundarycrosslinks'],
}
const MAY_BE_LISTED = new Set(Object.values(FEW_BY_NATURE).flat())

/** What a change concerns may be many: a plan, or the domain of a cluster, concerns whatever uses it. */
const WAKES_MANY = new Set(['computeplans', 'platformclusters'])

/** Controllers that look at all of a resource in their namespace, and why. */
const LOOKS_AT_ALL: Readonly<Record<string, readonly string[]>> = {
  // An assignment of a binding, or its group, may be anywhere; a change of a binding is rare.
  idpbinding: ['principalgroups', 'roleassignments', 'platformusers'],
  // A boundary has at most 20 catalogues, each of which may be told of pushes by any source.
  blueprintsource: ['deploymentsources'],
  deploymentsource: ['deploymentsources'],
  // Those of its boundary, which keeps at most a thousand resolved ones.
  platformalert: ['platformalerts'],
  // In the namespace of the platform only.
  platformbackupsettings: ['relationalclusters'],
}

describe('controllers', () => {
  for (const controller of ALL)
    it(`look at no more when there are more of what does not concern them: ${controller.name}`, async () => {
      const [few, many] = [new CountedReads(controller, FEW), new CountedReads(controller, MANY)]
      try {
        await Promise.all([few.start(), many.start()])
        const ignored = new Set([...MAY_BE_LISTED, ...(LOOKS_AT_ALL[controller.name] ?? [])])
        for (const kind of few.observedKinds().filter(({ plural }) => !WAKES_MANY.has(plural))) {
          const [listed, listedAmongMany] = [await few.listedForChangesOf(kind), await many.listedForChangesOf(kind)]
          const growing = [...listedAmongMany].filter(
            ([plural, count]) => !ignored.has(plural) && count > (listed.get(plural) ?? 0),
          )
          expect(growing, `after changes of ${kind.plural}`).to.deep.equal([])
        }
      } finally {
        await Promise.all([few.bench.stop(), many.bench.stop()])
      }
    })
})
