;;; One session in Emacs' own client, eglot, as a person has it: what it saw goes to $SEEN as JSON.  -*- lexical-binding: t -*-
;; Emacs 28.2 with eglot 1.9, in batch mode: that client has no lenses and no progress.
(require 'package)
(package-initialize)
(require 'eglot)
(require 'json)

(setq eglot-sync-connect 120
      eglot-connect-timeout 120
      jsonrpc-default-request-timeout 120
      eglot-confirm-server-initiated-edits nil
      make-backup-files nil
      create-lockfiles nil)

(defvar seen nil "What was seen, by name.")

(defun note (name value)
  "Keep VALUE under NAME."
  (setf (alist-get name seen) value))

(defun finish (code)
  "Write what was seen and end with CODE."
  (with-temp-file (getenv "SEEN") (insert (json-encode seen)))
  (kill-emacs code))

(defun until (seconds what test)
  "Wait at most SECONDS for TEST to give something, and give that; WHAT it is stands in the error."
  (let ((end (+ (float-time) seconds)) found)
    (while (and (not (setq found (funcall test))) (< (float-time) end))
      (accept-process-output nil 0.2))
    (or found (error "No %s after %s s" what seconds))))

(defun text () (buffer-substring-no-properties (point-min) (point-max)))

(defun start ()
  "A server for this buffer, as `M-x eglot' starts one."
  (let ((command (append (json-parse-string (getenv "SERVER") :array-type 'list)
                         (list :initializationOptions (list :python (getenv "WORKER") :trials 1)))))
    (eglot '(python-mode) (cons 'transient default-directory) 'eglot-lsp-server command "python")
    (until 120 "server" #'eglot-current-server)))

(defun actions ()
  "The actions at the kernel's name."
  (goto-char (point-min))
  (search-forward "def scale_kernel")
  (eglot--signal-textDocument/didChange) ; what eglot does when it has been idle for half a second
  (eglot-code-actions (point) (point)))

(defun titles () (mapcar (lambda (a) (plist-get a :title)) (actions)))

(defun action-like (pattern)
  "The first action whose title matches PATTERN."
  (seq-find (lambda (a) (string-match-p pattern (plist-get a :title))) (actions)))

(defun execute (action)
  "What eglot does with a chosen ACTION."
  (let ((command (plist-get action :command)))
    (eglot-execute-command (eglot-current-server) (intern (plist-get command :command)) (plist-get command :arguments))))

(condition-case problem
    (progn
      (find-file (getenv "FILE"))
      (start)
      (note 'before-run (vconcat (titles)))
      (let (hover)
        (goto-char (point-min))
        (search-forward "def scale_")
        (eglot-hover-eldoc-function (lambda (doc &rest _) (setq hover (substring-no-properties doc))))
        (note 'hover (until 120 "hover" (lambda () hover))))
      (note 'run (plist-get (execute (action-like "^Optimize scale_kernel")) :run))
      (note 'variant (plist-get (until 240 "variant" (lambda () (note 'while-running (vconcat (titles))) (action-like ": likely faster on"))) :title))
      ;; What flymake does when it has been idle for a moment.
      (flymake-start)
      (note 'hints (vconcat (mapcar #'flymake-diagnostic-text (until 120 "hint" #'flymake-diagnostics))))
      (let ((variant (action-like ": likely faster on"))
            (before (text)))
        (undo-boundary)
        (note 'applied (plist-get (execute variant) :applied))
        (note 'after (until 120 "edit" (lambda () (and (not (equal (text) before)) (text)))))
        (note 'taken (vconcat (until 120 "way back" (lambda () (and (action-like "^Revert") (titles))))))
        (undo-boundary)
        (setq last-command nil)
        (undo)
        (note 'one-undo (if (equal (text) before) t :json-false))
        (goto-char (point-min))
        (while (search-forward "2.0 * tl" nil t) (replace-match "3.0 * tl"))
        (eglot--signal-textDocument/didChange)
        (let ((changed (text)))
          (note 'refused (plist-get (execute variant) :refused))
          (note 'stays (if (equal (text) changed) t :json-false)))
        (setq last-command nil)
        (undo)
        (set-buffer-modified-p nil))
      (eglot-shutdown (eglot-current-server))
      (start)
      (note 'history (plist-get (until 120 "history" (lambda () (action-like ": likely faster on"))) :title))
      (eglot-shutdown (eglot-current-server))
      (finish 0))
  (error (note 'failed (format "%S" problem)) (finish 1)))
