-- One session in Neovim's own client, as a person has it: what it saw goes to $SEEN as JSON. Runs on Neovim 0.7.
local PATIENCE = 120000 -- milliseconds, reached only when something is broken
local seen = { lenses = {}, progress = {}, messages = {} }

local function finish(code)
  local file = assert(io.open(vim.env.SEEN, "w"))
  file:write(vim.fn.json_encode(seen))
  file:close()
  vim.cmd(code .. "cquit")
end

local function check(wanted, what)
  if not wanted then
    seen.failed = what
    finish(1)
    error(what)
  end
  return wanted
end

local function start()
  local id = vim.lsp.start_client({
    cmd = vim.fn.json_decode(vim.env.SERVER),
    root_dir = vim.env.WORK,
    init_options = { python = vim.env.WORKER, trials = 8 },
    handlers = {
      ["$/progress"] = function(_, params)
        table.insert(seen.progress, { kind = params.value.kind, message = params.value.message, percentage = params.value.percentage })
      end,
      ["window/showMessage"] = function(_, params)
        table.insert(seen.messages, params.message)
      end,
    },
  })
  check(vim.lsp.buf_attach_client(0, id), "the server takes the buffer")
  check(vim.wait(PATIENCE, function()
    local client = vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end, 20), "the server answers")
  return vim.lsp.get_client_by_id(id)
end

local function ask(method, params)
  local answers = check(vim.lsp.buf_request_sync(0, method, params, PATIENCE), method)
  for _, answer in pairs(answers) do
    check(not answer.error, method .. ": " .. vim.inspect(answer.error))
    return answer.result
  end
end

local here = { textDocument = vim.lsp.util.make_text_document_params(0) }

local function lenses()
  local titles = {}
  for _, lens in ipairs(ask("textDocument/codeLens", here) or {}) do
    table.insert(titles, lens.command.title)
  end
  return titles
end

-- Neovim looks whenever something has come, so after each answer: without a pause of our own it asks as fast as the server answers.
local function until_lens(pattern, milliseconds)
  local found, asked = {}, 0
  check(vim.wait(milliseconds, function()
    if vim.loop.now() - asked < 100 then
      return false
    end
    found = lenses()
    asked = vim.loop.now()
    return string.find(table.concat(found, "|"), pattern) ~= nil
  end, 20), "a lens like " .. pattern .. ", not " .. vim.inspect(found))
  table.insert(seen.lenses, found)
  return found
end

local function command(client, name, ...)
  local answer = check(client.request_sync("workspace/executeCommand", { command = "kernelband.server." .. name, arguments = { ... } }, PATIENCE, 0), name)
  return answer.result, answer.err
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

local ok, problem = pcall(function()
  local client = start()
  client.notify("kernelband/didChangeTrust", { folders = { { uri = vim.uri_from_fname(vim.env.WORK), trusted = true } } })
  until_lens("^Optimize$", PATIENCE)
  local line = vim.fn.search("def scale_kernel")
  vim.api.nvim_win_set_cursor(0, { line, 6 })
  seen.hover = ask("textDocument/hover", vim.lsp.util.make_position_params()).contents.value
  local uri = here.textDocument.uri
  local first = command(client, "optimize", uri, "scale_kernel").run
  until_lens("[1-7]/8.*|Cancel$", PATIENCE)
  command(client, "cancel", first)
  until_lens("Resume", PATIENCE)
  seen.run = command(client, "resume", uri, "scale_kernel", first).run
  until_lens("^likely faster", PATIENCE)
  check(vim.wait(PATIENCE, function() return #vim.diagnostic.get(0) > 0 end, 50), "the hints come")
  seen.hints = vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0))

  local range = vim.lsp.util.make_range_params()
  range.context = { diagnostics = {} }
  local action = ask("textDocument/codeAction", range)[1]
  seen.action = action.title
  local before = text()
  local arguments = action.command.arguments
  seen.applied = command(client, "apply", unpack(arguments)).applied
  check(vim.wait(PATIENCE, function() return text() ~= before end, 20), "the buffer changes")
  seen.after = text()
  until_lens("than the original", PATIENCE)
  vim.cmd("silent undo")
  seen.one_undo = text() == before

  vim.fn.search("2.0")
  vim.cmd([[silent %s/2\.0 \* tl/3.0 * tl/]])
  local changed = text()
  seen.refused = command(client, "apply", unpack(arguments)).refused
  seen.stays = text() == changed
  until_lens("verify again", PATIENCE)
  vim.cmd("silent undo")

  client.stop()
  check(vim.wait(PATIENCE, function() return client.is_stopped() end, 20), "the server ends")
  start()
  until_lens("^likely faster", PATIENCE)
end)
if not ok then
  seen.failed = seen.failed or tostring(problem)
end
finish(ok and 0 or 1)
