import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ComityError } from '../../core/words/errors.ts'
import { findConfig } from './find-config.ts'
import { loadConfig } from './load-config.ts'

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'comity-config-')))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const places = (): { cwd: string; home: string } => {
  const cwd = join(folder, 'cwd')
  const home = join(folder, 'home')
  mkdirSync(cwd)
  mkdirSync(join(home, '.config/comity'), { recursive: true })
  return { cwd, home }
}

test('-c, then COMITY_CONFIG, then ./comity.yaml, then the user config directory', () => {
  const { cwd, home } = places()
  const user = join(home, '.config/comity/comity.yaml')
  writeFileSync(user, '')
  expect(findConfig({ env: {}, cwd, home })).toBe(user)
  writeFileSync(join(cwd, 'comity.yaml'), '')
  expect(findConfig({ env: {}, cwd, home })).toBe(join(cwd, 'comity.yaml'))
  writeFileSync(join(cwd, 'env.yaml'), '')
  const env = { COMITY_CONFIG: 'env.yaml' }
  expect(findConfig({ env, cwd, home })).toBe(join(cwd, 'env.yaml'))
  writeFileSync(join(cwd, 'flag.yaml'), '')
  expect(findConfig({ flag: 'flag.yaml', env, cwd, home })).toBe(join(cwd, 'flag.yaml'))
})

test('XDG_CONFIG_HOME is used when absolute', () => {
  const { cwd, home } = places()
  mkdirSync(join(folder, 'xdg/comity'), { recursive: true })
  writeFileSync(join(folder, 'xdg/comity/comity.yaml'), '')
  const found = findConfig({ env: { XDG_CONFIG_HOME: join(folder, 'xdg') }, cwd, home })
  expect(found).toBe(join(folder, 'xdg/comity/comity.yaml'))
  expect(() => findConfig({ env: { XDG_CONFIG_HOME: 'xdg' }, cwd, home })).toThrow(ComityError)
})

test('none says where it looked and how to begin; a named one that is missing says who named it', () => {
  const { cwd, home } = places()
  expect(() => findConfig({ env: {}, cwd, home })).toThrow(/comity import[\s\S]*mcpServers:/)
  expect(() => findConfig({ env: {}, cwd, home })).toThrow(join(cwd, 'comity.yaml'))
  expect(() => findConfig({ flag: 'x.yaml', env: {}, cwd, home })).toThrow(/which -c names/)
  expect(() => findConfig({ env: { COMITY_CONFIG: 'x' }, cwd, home })).toThrow(/COMITY_CONFIG/)
})

test('the example in the message is a config that loads', () => {
  const { cwd, home } = places()
  try {
    findConfig({ env: {}, cwd, home })
  } catch (error) {
    const example = (error as Error).message.split('\n\n')[1] ?? ''
    const file = join(folder, 'comity.yaml')
    writeFileSync(file, example)
    expect(loadConfig(file, { HOME: folder }).peers).toEqual(['files'])
    return
  }
  throw new Error('expected no config to be found')
})
