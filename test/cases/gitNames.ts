type Names = {
  readonly possible: readonly string[]
  /** A sentence says what each is. */
  readonly impossible: readonly (readonly [string, string])[]
  readonly all: readonly string[]
}

function names(possible: readonly string[], impossible: Names['impossible']): Names {
  return { possible, impossible, all: [...possible, ...impossible.map(([, name]) => name)] }
}

/** Branches and tags, as they stand behind `refs/heads/` and `refs/tags/`. */
export const GIT_NAMES = names(
  [
    ...[
      'main',
      'feature/cart',
      'release/1.2.x',
      'v1.0.0-rc.1+build.7',
      'fix/#12',
      'dependabot/npm_and_yarn/@types/node-24',
    ],
    ...[
      'a.lockfile',
      'a.lock.b',
      'lock',
      'a@b',
      '@/a',
      'a{b}',
      "o'hara",
      'a"b',
      '$HOME',
      'a;b',
      'a&b',
      '(a)',
      '!a',
      '%2e',
    ],
    ...['füße', 'ветка', '枝', '🙂', 'HEAD', 'a'.repeat(244)],
  ],
  [
    ['a path out of refs/heads', '../../x'],
    ['a path out of a folder', 'a/../b'],
    ['two dots', 'a..b'],
    ['a component that begins with a dot', 'a/.b'],
    ['a dot', '.'],
    ['a dot at the end', 'a.'],
    ['the suffix .lock', 'main.lock'],
    ['the suffix .lock of a component', 'a.lock/b'],
    ['a slash at the beginning', '/a'],
    ['a slash at the end', 'a/'],
    ['two slashes', 'a//b'],
    ['a reflog selector', 'a@{1}'],
    ['the alias of HEAD', '@'],
    ['an option', '--upload-pack=x'],
    ['a space', 'a b'],
    ['a tab', 'a\tb'],
    ['a line break', 'a\r\nb'],
    ['a line feed at the end', 'a\n'],
    ['NUL', 'a\u0000b'],
    ['an escape', 'a\u001b[31m'],
    ['DEL', 'a\u007f'],
    ['a control character of C1', 'a\u0085b'],
    ['an invisible character', 'a\u200bb'],
    ['a bidirectional override', 'a\u202eb'],
    ['a line separator', 'a\u2028b'],
    ['an ancestor', 'a~1'],
    ['a parent', 'a^'],
    ['a colon', 'a:b'],
    ['brackets', '[ab]'],
    ['a backslash', 'a\\b'],
    ['246 characters', 'a'.repeat(246)],
  ],
)

/** Full names of repositories, as providers tell them. */
export const REPOSITORY_NAMES = names(
  [
    ...['acme/shop', 'acme/group/sub-group/shop', 'shop', 'acme/shop.js', 'acme/.github', '~ada/shop', 'acme/..shop'],
    ...['{6d5f}/{7e6a}', 'acme/%20shop', 'acme/füße', 'acme/a+b@c', 'a'.repeat(255)],
  ],
  [
    ['a line break', 'acme/shop\r\nX: y'],
    ['a line feed at the end', 'acme/shop\n'],
    ['NUL', 'acme/\u0000'],
    ['a tab', 'acme/a\tb'],
    ['a control character of C1', 'acme/a\u0085b'],
    ['an invisible character', 'acme/a\u200bb'],
    ['a bidirectional override', 'acme/a\u202eb'],
    ['a space', 'acme/my shop'],
    ['a path to another account', 'acme/../evil/shop'],
    ['an encoded path to another account', 'acme/%2e%2E/evil/shop'],
    ['a dot', 'acme/.'],
    ['a slash at the beginning', '/acme/shop'],
    ['a slash at the end', 'acme/shop/'],
    ['a query', 'acme/shop?a=b'],
    ['a fragment', 'acme/shop#a'],
    ['a backslash', 'acme\\shop'],
    ['256 characters', 'a'.repeat(256)],
  ],
)
