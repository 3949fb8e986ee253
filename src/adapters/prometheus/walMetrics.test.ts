import { expect } from 'chai'
import { askedOf, says, whole } from '../../../test/worlds/playedPrometheus.ts'
import { silentLog as log } from '../../core/log.ts'
import { createWalMetrics } from './walMetrics.ts'

describe('createWalMetrics', () => {
  const all = (...given: Parameters<typeof says>) =>
    askedOf(says(...given), (url) => createWalMetrics({ url, log }).all())
  const of = (pod: string, value: string) => ({ metric: { namespace: 'shop', pod }, value: [0, value] })

  it('returns the values of the instance with the longest WAL queue, by its Cluster', async () => {
    const found = await all(whole(of('orders-1', '3'), of('orders-2', '7'), of('orders-3', 'NaN')))
    expect([...found]).to.deep.equal([['shop/orders', { readyCount: 7, volumePercent: 7 }]])
  })

  const unreadable: [string, ...Parameters<typeof says>][] = [
    ['a body that is not JSON', '<html>'],
    ['status 503', whole(of('orders-1', '3')), 503],
    ['a series without a value', whole({ metric: { namespace: 'shop', pod: 'orders-1' } })],
    ['a series without labels', whole({ metric: {}, value: [0, '3'] })],
  ]
  for (const [sentence, ...answer] of unreadable)
    it(`returns nothing for ${sentence}`, async () => void expect([...(await all(...answer))]).to.deep.equal([]))
})
