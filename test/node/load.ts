import { expect } from 'chai'
import { until } from '../make/until.ts'
import type { PublicHosts } from './publicHosts.ts'

const EVERY = 20

/** Requests the page fifty times a second during the work, and for a while after. @throws if an answer is not 200 */
export async function servedThroughout(hosts: PublicHosts, url: string, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now()
  const answers: Promise<string>[] = []
  const load = setInterval(() => {
    const answer = hosts.get(url).then(
      ({ status }) => String(status),
      (problem: Error) => `${problem.message} ${Math.round(performance.now() - began)} ms after the first`,
    )
    answers.push(answer)
  }, EVERY)
  try {
    await work()
    const seen = answers.length
    await until('the load went on for a while', async () => answers.length > seen + 100)
  } finally {
    clearInterval(load)
  }
  const statuses = await Promise.all(answers)
  expect(statuses.length).to.be.greaterThan(100)
  expect(statuses.filter((status) => status !== '200')).to.deep.equal([])
}
