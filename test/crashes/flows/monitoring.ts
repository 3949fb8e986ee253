import { PlatformAlert } from '../../../src/crds/monitoring.ts'
import type { Flow } from '../flow.ts'
import { OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const DAY = 86_400_000
const alert = (alertId: string) => ({ alertId, title: 'A disk is full', level: 2 })

async function occurrences(world: World, name: string): Promise<number | undefined> {
  const found = await world.find(PlatformAlert.resource, name, OUTER)
  return (found?.status as { occurrences?: number } | undefined)?.occurrences
}

export const monitoringFlows: readonly Flow[] = [
  {
    title: 'a resolved alert is deleted after 30 days, and a firing one is kept',
    controllers: ['platformalert'],
    facts: () => ({}),
    steps: [
      {
        user: 'reports two alerts',
        async act(world) {
          await world.make(PlatformAlert, 'over', alert('one'), OUTER)
          await world.make(PlatformAlert, 'fires', alert('two'), OUTER)
        },
        until: async (world) => (await occurrences(world, 'over')) === 1 && (await occurrences(world, 'fires')) === 1,
      },
      {
        user: 'says that one is over',
        act: (world) => world.change(PlatformAlert, 'over', { status: 'Resolved' }, OUTER),
        until: (world) => world.isReady(PlatformAlert, 'over', OUTER),
      },
      {
        user: 'waits for 31 days',
        async act(world) {
          for (let day = 0; day < 31; day += 1) await world.pass(DAY)
        },
        until: (world) => world.isGone(PlatformAlert, 'over', OUTER),
      },
    ],
  },
]
