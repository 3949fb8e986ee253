import { expect } from 'chai'
import { pathObstacle, sourceObstacle } from './functionSources.ts'

describe('paths of a source', () => {
  const cases: [string, string, boolean][] = [
    ['take a file', 'index.js', true],
    ['take folders', 'src/deep/er/index.js', true],
    ['take names that begin with a dot', '.env', true],
    ['take names that hold two dots', 'a..b', true],
    ['refuse an absolute path', '/etc/passwd', false],
    ['refuse a way up', 'a/../../b', false],
    ['refuse a way up alone', '..', false],
    ['refuse an empty path', '', false],
    ['refuse an empty part', 'a//b', false],
    ['refuse a folder', 'a/', false],
    ['refuse a backslash', 'a\\..\\b', false],
    ['refuse a drive', 'C:x', false],
    ['refuse a control character', 'a\u0000b', false],
    ['refuse what is too long', 'x'.repeat(256), false],
    ['refuse a name that no file system takes', 'é'.repeat(128), false],
    ['take a long path of names that it takes', `${'é'.repeat(120)}/${'é'.repeat(120)}`, true],
    ['take names of other scripts, and pictures put together', 'été/日本/می\u200cخواهم/👩\u200d💻.js', true],
    ['refuse what turns the direction', 'a\u202egnp.js', false],
    ['refuse what isolates a direction', 'a\u2066b', false],
    ['refuse a space without a width', 'inde\u200bx.mjs', false],
    ['refuse a mark of the order of bytes', '\ufeffindex.mjs', false],
    ['refuse a hyphen that is not seen', 'in\u00addex.mjs', false],
    ['refuse a separator of lines', 'a\u2028b', false],
    ['refuse a blank name', 'a/ /b', false],
    ['refuse half a character', 'a\ud800b', false],
  ]
  for (const [sentence, path, may] of cases) {
    it(sentence, () => expect(pathObstacle(path) === undefined).to.equal(may))
  }
})

describe('files of a source', () => {
  const cases: [string, string[], RegExp | undefined][] = [
    ['may share a folder', ['a/x', 'a/y', 'b'], undefined],
    ['are not the same twice', ['a', 'b', 'a'], /^The path "a" stands there twice$/],
    ['differ in more than case', ['Readme', 'readme'], /"readme" cannot exist beside "Readme"/],
    ['differ in more than how Unicode writes them', ['caf\u00e9', 'cafe\u0301'], /cannot exist beside/],
    ['are not folders of others', ['a', 'a/b'], /^The folder "a" cannot exist beside "a"$/],
    ['are not folders of those before', ['a/b', 'A'], /"A" cannot exist beside "a"/],
    ['have folders that differ in more than case', ['a/x', 'A/y'], /folder "A" cannot exist beside "a"/],
  ]
  for (const [sentence, paths, expected] of cases) {
    it(sentence, () => {
      const message = sourceObstacle(paths)?.message
      if (expected === undefined) expect(message).to.equal(undefined)
      else expect(message).to.match(expected)
    })
  }
})
