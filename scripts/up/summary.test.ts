import { resolve } from 'node:path'
import { expect } from 'chai'
import { downCommand, setupCommand } from './summary.ts'

describe('what `npm run up` tells to run', () => {
  for (const [sentence, folder, down, setup] of [
    ['is short in the usual folder', resolve('.freehold'), 'npm run down', 'freehold setup --dev'],
    ['names another folder', '/tmp/one', 'npm run down -- --data /tmp/one', 'freehold setup --dev /tmp/one/dev.json'],
    [
      'is what a shell takes',
      "/tmp/my one's",
      "npm run down -- --data '/tmp/my one'\\''s'",
      "freehold setup --dev '/tmp/my one'\\''s/dev.json'",
    ],
  ] as const) {
    it(sentence, () => expect([downCommand(folder), setupCommand(folder)]).to.deep.equal([down, setup]))
  }
})
