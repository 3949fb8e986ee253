import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

describe('freehold use', () => {
  for (const [sentence, status, exitCode, said] of [
    ['stores a group that exists', 200, 0, /^Boundary b, resource group other\.\n$/],
    [
      'stores a group that the caller may not read, and says so',
      403,
      0,
      /^You may not see whether there is a resource group "other"/,
    ],
    ['rejects a group that does not exist', 404, 2, /^There is no resource group "other" in boundary b/],
  ] as const) {
    it(sentence, async () => {
      const commands = await CommandsAtServer.start(({ url = '' }, response) => {
        const isList = /resourcegroups(\?.*)?$/.test(url)
        response.writeHead(isList ? 200 : status, { 'content-type': 'application/json' })
        response.end(JSON.stringify(isList ? { items: [{ name: 'shop' }] } : { name: 'other' }))
      })
      expect(await commands.freehold('use', '-b', 'b', '-g', 'other'), commands.said).to.equal(exitCode)
      expect(commands.said).to.match(said)
      await commands.stop()
    })
  }
})
