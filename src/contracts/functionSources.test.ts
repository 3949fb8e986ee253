import { expect } from 'chai'
import { pathObstacle, sourceObstacle } from './functionSources.ts'

describe('pathObstacle', () => {
  const cases: [string, string, boolean][] = [
    ['accepts a file', 'index.js', true],
    ['accepts a file in folders', 'src/deep/er/index.js', true],
    ['accepts a name that begins with a dot', '.env', true],
    ['accepts a name with two dots', 'a..b', true],
    ['rejects an absolute path', '/etc/passwd', false],
    ['rejects a path with ..', 'a/../../b', false],
    ['rejects .. alone', '..', false],
    ['rejects an empty path', '', false],
    ['rejects an empty segment', 'a//b', false],
    ['rejects a folder', 'a/', false],
    ['rejects a backslash', 'a\\..\\b', false],
    ['rejects a drive letter', 'C:x', false],
    ['rejects a control character', 'a\u0000b', false],
    ['rejects a path of more than 255 characters', 'x'.repeat(256), false],
    ['rejects a name of more than 255 bytes', 'é'.repeat(128), false],
    ['accepts a long path of shorter names', `${'é'.repeat(120)}/${'é'.repeat(120)}`, true],
    ['accepts names in other scripts and joined emoji', 'été/日本/می\u200cخواهم/👩\u200d💻.js', true],
    ['rejects a bidirectional override', 'a\u202egnp.js', false],
    ['rejects a bidirectional isolate', 'a\u2066b', false],
    ['rejects a zero-width space', 'inde\u200bx.mjs', false],
    ['rejects a byte order mark', '\ufeffindex.mjs', false],
    ['rejects a soft hyphen', 'in\u00addex.mjs', false],
    ['rejects a line separator', 'a\u2028b', false],
    ['rejects a blank name', 'a/ /b', false],
    ['rejects an unpaired surrogate', 'a\ud800b', false],
  ]
  for (const [sentence, path, may] of cases) {
    it(sentence, () => expect(pathObstacle(path) === undefined).to.equal(may))
  }
})

describe('sourceObstacle', () => {
  const cases: [string, string[], RegExp | undefined][] = [
    ['accepts files in the same folder', ['a/x', 'a/y', 'b'], undefined],
    ['rejects the same path twice', ['a', 'b', 'a'], /^The path "a" stands there twice$/],
    ['rejects paths that differ only in case', ['Readme', 'readme'], /"readme" cannot exist beside "Readme"/],
    ['rejects paths that differ only in Unicode normalization', ['caf\u00e9', 'cafe\u0301'], /cannot exist beside/],
    ['rejects a folder with the name of a file', ['a', 'a/b'], /^The folder "a" cannot exist beside "a"$/],
    ['rejects a file with the name of a folder', ['a/b', 'A'], /"A" cannot exist beside "a"/],
    ['rejects folders that differ only in case', ['a/x', 'A/y'], /folder "A" cannot exist beside "a"/],
  ]
  for (const [sentence, paths, expected] of cases) {
    it(sentence, () => {
      const message = sourceObstacle(paths)?.message
      if (expected === undefined) expect(message).to.equal(undefined)
      else expect(message).to.match(expected)
    })
  }
})
