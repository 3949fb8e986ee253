import { expect } from 'chai'
import { disturbed, play, type Run } from './flow.ts'
import { FLOWS } from './flows/index.ts'
import { deathsOf } from './life.ts'

/** So many differences of one flow are shown; more of them only repeat what is wrong. */
const SHOWN = 12

describe('an operator that dies at any of its writes', function () {
  this.timeout(120_000)
  const written = new Set<string>()

  for (const flow of FLOWS) {
    it(`ends in the same state: ${flow.title}`, async () => {
      const peace: Run = await play(flow)
      for (const { by } of peace.writes) written.add(by)
      expect(peace.writes, 'a flow in which nothing is written shows nothing').not.to.deep.equal([])
      const found: string[] = []
      for (const death of deathsOf(peace.writes)) {
        const { by, what } = peace.writes[death.at - 1] ?? {}
        const run = await disturbed(flow, death, peace)
        found.push(...run.found.map((difference) => `killed ${death.when} ${death.at}. ${by} ${what}: ${difference}`))
      }
      expect(found.slice(0, SHOWN), `${found.length} differences\n${found.slice(0, SHOWN).join('\n')}`).to.deep.equal(
        [],
      )
    })
  }
})
